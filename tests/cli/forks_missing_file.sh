memspy forks missing.mspy

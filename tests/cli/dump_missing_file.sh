memspy dump missing.mspy

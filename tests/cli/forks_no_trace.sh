memspy forks --json

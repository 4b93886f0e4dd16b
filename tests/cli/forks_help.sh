memspy forks --help

memspy forks --by

memspy forks --by colour "$GOLDEN/basic.mspy"

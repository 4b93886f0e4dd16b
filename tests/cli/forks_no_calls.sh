cd "$GOLDEN" && memspy forks basic.mspy && memspy forks --by=exe basic.mspy

cd "$GOLDEN" && memspy forks --json spawns.mspy

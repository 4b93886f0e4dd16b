cd "$GOLDEN" && memspy forks spawns.mspy

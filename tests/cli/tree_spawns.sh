cd "$GOLDEN" && memspy tree spawns.mspy

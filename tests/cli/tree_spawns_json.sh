cd "$GOLDEN" && memspy tree --json spawns.mspy

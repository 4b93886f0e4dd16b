cd "$GOLDEN" && memspy report spawns.mspy | sed "/^Allocations by path/,\$d"

cd "$GOLDEN" && memspy report killed.mspy

cd "$GOLDEN" && memspy report exact.mspy

cd "$GOLDEN" && memspy check basic.mspy

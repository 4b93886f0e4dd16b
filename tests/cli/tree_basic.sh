cd "$GOLDEN" && memspy tree basic.mspy

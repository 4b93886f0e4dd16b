cd "$GOLDEN" && memspy dump basic.mspy | head -n 8

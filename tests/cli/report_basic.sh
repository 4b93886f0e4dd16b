cd "$GOLDEN" && memspy report basic.mspy

cd "$GOLDEN" && memspy report --json basic.mspy

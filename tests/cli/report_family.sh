cd "$GOLDEN" && memspy report family.mspy

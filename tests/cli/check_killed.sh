cd "$GOLDEN" && memspy check killed.mspy

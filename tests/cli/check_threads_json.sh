cd "$GOLDEN" && memspy check --json threads.mspy

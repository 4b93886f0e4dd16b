memspy report --json "$GOLDEN/basic.mspy" >a && memspy report --json "$GOLDEN/basic.mspy" | cat | cmp - a

memspy report "$GOLDEN/basic.mspy" >/dev/full

memspy dump "$GOLDEN/basic.mspy" >/dev/full

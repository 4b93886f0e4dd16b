memspy dump "$GOLDEN/threads.mspy" | true

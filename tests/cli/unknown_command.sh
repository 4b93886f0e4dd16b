memspy frobnicate

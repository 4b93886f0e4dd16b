memspy --frobnicate

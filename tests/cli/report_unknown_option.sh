memspy report --frobnicate x.mspy

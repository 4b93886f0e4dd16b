memspy report a b

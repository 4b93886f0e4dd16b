memspy check

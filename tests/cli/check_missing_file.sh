memspy check missing.mspy

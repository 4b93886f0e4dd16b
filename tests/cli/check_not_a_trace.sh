seq 10000 >text.mspy; memspy check text.mspy

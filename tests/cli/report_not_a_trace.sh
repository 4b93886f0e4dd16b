seq 10000 >text.mspy; memspy report text.mspy

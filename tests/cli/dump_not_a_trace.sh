seq 10000 >text.mspy; memspy dump text.mspy

memspy

memspy rep

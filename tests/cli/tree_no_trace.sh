memspy tree

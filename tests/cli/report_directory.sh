mkdir d; memspy report d

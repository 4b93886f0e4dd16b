memspy report missing.mspy

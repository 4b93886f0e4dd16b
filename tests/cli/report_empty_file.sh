: >empty.mspy; memspy report empty.mspy

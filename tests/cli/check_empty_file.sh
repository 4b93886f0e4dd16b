: >empty.mspy; memspy check empty.mspy

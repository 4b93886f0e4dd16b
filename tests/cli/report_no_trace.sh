memspy report

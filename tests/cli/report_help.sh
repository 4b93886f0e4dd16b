memspy report --help

memspy --help

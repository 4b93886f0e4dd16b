memspy check --help

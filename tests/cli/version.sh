memspy --version

echo hello >f && memspy tree f

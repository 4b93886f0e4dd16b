memspy dump

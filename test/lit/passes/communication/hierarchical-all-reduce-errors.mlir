// RUN: dgc-opt %s -verify-diagnostics -dgc-hierarchical-all-reduce='links=host=20us:1GB/s,data=1:20GB/s'

// expected-error @+1 {{--links: 'data=1:20GB/s' is not a link: expected AXIS=LATENCY:BANDWIDTH in ns, us or ms and MB/s or GB/s, as in data=5us:10GB/s}}
module {
}

// RUN: not dgc-opt %s -dgc-hierarchical-all-reduce='links=host=20us:1GB/s,data=1:20GB/s' 2>&1 | FileCheck %s

// CHECK: for the --links option: 'data=1:20GB/s' is not a link: expected AXIS=LATENCY:BANDWIDTH in ns, us or ms and MB/s or GB/s, as in data=5us:10GB/s
module {
}

// RUN: dgc-opt %s -verify-diagnostics -dgc-limit-communication='forbid=gather'

// expected-error @+1 {{there is no collective 'gather' to forbid; one of all_gather, all_reduce, all_to_all, broadcast, permute, reduce_scatter is}}
module {
}

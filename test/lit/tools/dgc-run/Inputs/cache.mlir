dgc.model @cached {
  %x = dgc.input "x" : tensor<6x1x8xf32>
  %n = dgc.variable "n" zeros : tensor<i32>
  %keys = dgc.variable "keys" zeros : tensor<6x5x8xf32>
  %values = dgc.variable "values" zeros : tensor<6x5x8xf32>
  %place = dgc.reshape %n to [1]
  %scaled = dgc.scale %x by 2.0
  %q = dgc.rotary_embedding %scaled at %place heads 2
  %k = dgc.rotary_embedding %x at %place heads 2
  %v = dgc.scale %x by 0.5 plus 1.0
  %all_keys = dgc.dynamic_update_slice %keys, %k at %n dim 1
  %all_values = dgc.dynamic_update_slice %values, %v at %n dim 1
  %places = dgc.iota dim 0 : tensor<5xi32>
  %written = dgc.compare le %places, %n
  %y = dgc.attention %q, %all_keys, %all_values mask %written heads 2
  %next = dgc.add %n, 1
  dgc.assign %keys, %all_keys in predict
  dgc.assign %values, %all_values in predict
  dgc.assign %n, %next in predict
  dgc.output "y" %y
}

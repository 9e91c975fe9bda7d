package service

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// deviceForm are the devices that PINION_DEVICE names.
var deviceForm = regexp.MustCompile(`^(auto|cpu|cuda:[0-9]{1,3})$`)

// openDevice opens the device that the configuration names, and says which it is and why: a slower one than was meant would go
// unnoticed otherwise. The allocator makes the buffers that the device reads.
func (c *Config) openDevice(log *slog.Logger) (gpu.Device, pool.Allocator, error) {
	number, isCard := strings.CutPrefix(c.Device, "cuda:")
	why := "configured"
	if c.Device == "auto" {
		number, isCard = "0", true
		why = "chosen by PINION_DEVICE=auto: the first CUDA device"
	}
	device := gpu.NewCPU()
	var memory pool.Allocator = pool.HugePages{}
	if isCard {
		card, err := c.openCard(number)
		switch {
		case err == nil:
			device, memory = card, card.Pinned(memory)
		case c.Device != "auto" || errors.Is(err, gpu.ErrInUse):
			return nil, nil, fmt.Errorf("%sDEVICE: %w", Prefix, err)
		default:
			why = "chosen by PINION_DEVICE=auto: " + err.Error()
		}
	}
	info := device.Info()
	log.Info("device", "kind", info.Kind, "name", info.Name, "why", why)
	return device, memory, nil
}

func (c *Config) openCard(number string) (*gpu.Card, error) {
	ordinal, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	return gpu.OpenCUDA(c.CUDALib, ordinal)
}

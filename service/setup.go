package service

import (
	"log/slog"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// Setup is a device for development setups: it multiplies the generators of groups. It is used from one goroutine.
type Setup struct{ device gpu.Device }

// NewSetup opens the device that the configuration names, as NewProver does.
func (c *Config) NewSetup(log *slog.Logger) (*Setup, error) {
	device, _, err := c.openDevice(log)
	if err != nil {
		return nil, err
	}
	return &Setup{device}, nil
}

// Device is the name of the device.
func (s *Setup) Device() string { return s.device.Info().Name }

// Multiply is a groth16.Multiplier: the card's, or that of the CPU.
func (s *Setup) Multiply(curve groth16.Curve, group groth16.Group, scalars, points []byte) error {
	if card, ok := s.device.(*gpu.Card); ok {
		return card.Multiples(curve, group, scalars, points)
	}
	return groth16.Multiples(curve, group, scalars, points)
}

// Close closes the device.
func (s *Setup) Close() error { return s.device.Close() }
